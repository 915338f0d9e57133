package rulefile

// Merge adds a rule to the bytes of a file.
var Merge = merge
