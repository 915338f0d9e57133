package file

import "sync"

// factories builds the immutable factories once for the process: schemas are derived and compiled once for all sessions.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	var made []*Factory
	for _, make := range []func() (*Factory, error){
		newReadFile, newReadManyFiles, newListDirectory, newSafePatch, newWriteFile, newEdit, newApplyPatch, newTextEditor,
	} {
		f, err := make()
		if err != nil {
			return nil, err
		}
		made = append(made, f)
	}
	return made, nil
})
