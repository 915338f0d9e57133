package model

// EstimateTokens returns about how many tokens r has as input.
func EstimateTokens(r *Request) int { return 0 }

// TokenLimit returns how many tokens of input the named model takes, as far as
// it is known; else 1,048,576.
func TokenLimit(name string) int { return 1 << 20 }
