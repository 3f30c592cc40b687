"""Forms that the admin and the dashboard share. They call the services and show their errors at the fields."""
