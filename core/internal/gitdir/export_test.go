package gitdir

// ParseConfig is parseConfig for tests.
var ParseConfig = parseConfig
