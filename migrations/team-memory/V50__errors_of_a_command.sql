-- Each command that passes ends the count of its errors.
CREATE INDEX repeated_errors_command ON repeated_errors (command);
