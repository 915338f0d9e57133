// Package editdistance computes edit distances between words, so that a message can
// suggest the intended word.
package editdistance

// Of returns the Levenshtein distance of a and b: the number of insertions, deletions
// and substitutions.
func Of[E comparable](a, b []E) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, from := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, to := range b {
			change := diagonal
			if from != to {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, change)
		}
	}
	return row[len(b)]
}
