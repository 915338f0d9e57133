package rulefile

// Exported for tests of Append.
var Merge = merge
