package search

// The JSON schemas of results, closed to other keys.
const (
	globOutput = `{"type":"object","properties":{"searched":` + namesSchema + `,` +
		`"files":{"type":"array","items":{"type":"string"},"description":"absolute paths, in the order in which they are told"},` +
		`"left_out":{"type":"integer","minimum":1,"description":"files beyond those listed"},` + leftProperties + `},` +
		`"required":["searched","files"],"additionalProperties":false}`

	searchOutput = `{"type":"object","properties":{"searched":` + namesSchema + `,` +
		`"matches":{"type":"integer","minimum":0,"description":"lines, or files if only names were asked for"},` +
		`"files":{"type":"array","items":{"type":"object","properties":{"file_path":{"type":"string","description":"absolute"},` +
		`"lines":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer","minimum":1},"text":{"type":"string"},` +
		`"context":{"type":"boolean","description":"it does not match, but is beside a line that does"}},"required":["line","text"],"additionalProperties":false}},` +
		`"more":{"type":"boolean","description":"there are other matches in it"}},"required":["file_path"],"additionalProperties":false}},` +
		`"more":{"type":"boolean","description":"a limit left matches out"},` +
		`"binary":{"type":"integer","minimum":1,"description":"files that are no text"},` +
		`"failed":{"type":"integer","minimum":1,"description":"files that could not be read"},` +
		`"withheld":{"type":"integer","minimum":1,"description":"files that may not be shown"},` + leftProperties + `},` +
		`"required":["searched","matches","files"],"additionalProperties":false}`

	namesSchema = `{"type":"array","items":{"type":"string"},"description":"the directories, or the one file, that were searched"}`

	leftProperties = `"ignored":{"type":"integer","minimum":1,"description":"names that ignore rules cover"},` +
		`"ignored_by":{"type":"array","items":{"type":"string"},"description":"the first few of these rules"},` +
		`"unreadable":{"type":"array","items":{"type":"string"},"description":"the first few directories that cannot be listed"},"notice":{"type":"string"}`
)
