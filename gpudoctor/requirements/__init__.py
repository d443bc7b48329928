"""What a script demands of a machine, held against its facts, with the cause and the fix where it does not hold."""
