import struct
import zlib
from xml.etree import ElementTree

from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.picture import FILLS, PNG_SIZE, png, svg
from tasks_app.canvas.shapes import Shape

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = generate_shapes(24, canvas_rng(2, 24, 0, "shapes"))


def test_every_shape_is_a_group_with_its_name_centre_and_colour() -> None:
    groups = ElementTree.fromstring(svg(SHAPES)).findall(f"{SVG}g")
    assert [group.findtext(f"{SVG}title") for group in groups] == [f"{s.name} at {s.center}" for s in SHAPES]
    assert [group.get("data-name") for group in groups] == [shape.name for shape in SHAPES]
    assert [(int(group.get("data-x")), int(group.get("data-y"))) for group in groups] == [s.center for s in SHAPES]
    assert [group.get("fill") for group in groups] == [FILLS[shape.color] for shape in SHAPES]


def test_y_points_up() -> None:
    groups = ElementTree.fromstring(svg([Shape("Circle", "Red", "Small", (3, 20))])).findall(f"{SVG}g/{SVG}circle")
    assert [(circle.get("cx"), circle.get("cy"), circle.get("r")) for circle in groups] == [("3", "-20", "1")]


def test_a_triangle_is_equilateral_about_its_centroid_and_points_up() -> None:
    picture = ElementTree.fromstring(svg([Shape("Triangle", "Red", "Large", (10, 5))]))
    assert picture.find(f"{SVG}g/{SVG}path").get("d") == "M10 -7.3094L12 -3.8453H8Z"


def test_a_title_is_escaped() -> None:
    title = 'A <b> & "c"'
    picture = ElementTree.fromstring(svg(SHAPES[:1], title))
    assert picture.findtext(f"{SVG}title") == picture.get("aria-label") == title


def test_the_description_lists_all_shapes_for_those_who_do_not_see_them() -> None:
    description = ElementTree.fromstring(svg(SHAPES)).findtext(f"{SVG}desc")
    assert description == "; ".join(f"{shape.name} at {shape.center}" for shape in SHAPES)


def test_a_model_is_sent_a_png_of_a_set_size_that_is_white_to_its_corner() -> None:
    picture = png(SHAPES)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", picture[16:24]) == (PNG_SIZE, PNG_SIZE)
    start = picture.index(b"IDAT") + 4
    first_row = zlib.decompressobj().decompress(picture[start:], 5)
    assert first_row[1:] == b"\xff\xff\xff\xff"  # after the row's filter: red, green, blue, alpha
