"""The command line: options to a Scenario, a question's Answer to a stream. Only this prints."""
