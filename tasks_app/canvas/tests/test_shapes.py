from tasks_app.canvas.shapes import KIND_NAMES, KINDS, Shape, distinct_names


def test_there_are_24_kinds_in_a_fixed_order() -> None:
    assert len(set(KINDS)) == len(KINDS) == 24
    assert KINDS[0] == ("Small", "Red", "Circle")
    assert KINDS[-1] == ("Large", "Green", "Triangle")


def test_a_name_is_the_kind_in_lower_case() -> None:
    shape = Shape("Triangle", "Green", "Large", (0, 0))
    assert shape.kind == ("Large", "Green", "Triangle")
    assert shape.name == KIND_NAMES[shape.kind] == "large green triangle"


def test_shapes_of_one_kind_are_numbered_apart_and_others_keep_their_name() -> None:
    circle, square = Shape("Circle", "Red", "Small", (0, 0)), Shape("Square", "Red", "Small", (9, 9))
    again = Shape("Circle", "Red", "Small", (20, 20))
    assert distinct_names([circle, square, again]) == ["small red circle 1", "small red square", "small red circle 2"]
