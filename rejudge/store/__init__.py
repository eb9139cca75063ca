"""The only room that knows SQL: tables, engine, migrations, reads and writes by subject."""
