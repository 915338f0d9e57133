// Package editdistance counts the changes between two words, so that a message can
// name the word that was probably meant.
package editdistance

// Of returns Levenshtein's distance: how many elements have to be added, dropped or
// changed to make b of a.
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
