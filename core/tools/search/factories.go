package search

import "sync"

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	var made []*Factory
	for _, make := range []func() (*Factory, error){newGlob, newSearchFileContent} {
		f, err := make()
		if err != nil {
			return nil, err
		}
		made = append(made, f)
	}
	return made, nil
})
