package rulefile

// For tests of what Append is made of.
var Merge = merge
