package search

// The JSON schemas of results. They allow no additional properties.
const (
	globOutput = `{"type":"object","properties":{"searched":` + namesSchema + `,` +
		`"files":{"type":"array","items":{"type":"string"},"description":"absolute paths, in the order of the result"},` +
		`"left_out":{"type":"integer","minimum":1,"description":"number of files not listed"},` + leftProperties + `},` +
		`"required":["searched","files"],"additionalProperties":false}`

	searchOutput = `{"type":"object","properties":{"searched":` + namesSchema + `,` +
		`"matches":{"type":"integer","minimum":0,"description":"number of lines, or of files with names_only"},` +
		`"files":{"type":"array","items":{"type":"object","properties":{"file_path":{"type":"string","description":"absolute"},` +
		`"lines":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer","minimum":1},"text":{"type":"string"},` +
		`"context":{"type":"boolean","description":"a context line, not a match"}},"required":["line","text"],"additionalProperties":false}},` +
		`"more":{"type":"boolean","description":"the file has further matches"}},"required":["file_path"],"additionalProperties":false}},` +
		`"more":{"type":"boolean","description":"a limit omitted matches"},` +
		`"binary":{"type":"integer","minimum":1,"description":"number of files that are not text"},` +
		`"failed":{"type":"integer","minimum":1,"description":"number of files that could not be read"},` +
		`"withheld":{"type":"integer","minimum":1,"description":"number of files that may not be shown"},` + leftProperties + `},` +
		`"required":["searched","matches","files"],"additionalProperties":false}`

	namesSchema = `{"type":"array","items":{"type":"string"},"description":"the directories, or the one file, that were searched"}`

	leftProperties = `"ignored":{"type":"integer","minimum":1,"description":"number of ignored names"},` +
		`"ignored_by":{"type":"array","items":{"type":"string"},"description":"the first few of these rules"},` +
		`"unreadable":{"type":"array","items":{"type":"string"},"description":"the first few directories that cannot be listed"},"notice":{"type":"string"}`
)
