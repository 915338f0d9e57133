package file

import "github.com/fettle-dev/fettle/core/tools"

// The JSON schemas of results. They allow no additional properties.
const (
	readFileOutput = `{"type":"object","properties":{` + stateProperties + `,` +
		`"status":{"const":"file_unchanged","description":"the file has not changed since it was last shown"},` +
		`"advice":{"type":"string","description":"what to do if the content is no longer in context"}},` +
		`"required":["version","sha256","file_path"],"additionalProperties":false,` +
		`"oneOf":[{"required":["content"]},{"required":["status","advice"]}]}`

	readManyFilesOutput = `{"type":"object","properties":{` +
		`"files":{"type":"array","description":"the files in the requested order","items":{"oneOf":[` + stateSchema + `,` +
		`{"type":"object","properties":{"file_path":{"type":"string"},"error":` + errorSchema + `},` +
		`"required":["file_path","error"],"additionalProperties":false}]}}},` +
		`"required":["files"],"additionalProperties":false}`

	listDirectoryOutput = `{"type":"object","properties":{` +
		`"dir_path":{"type":"string","description":"absolute"},` +
		`"entries":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"type":{"enum":["directory","file","special","symlink"],"description":"of the target of the name; symlink: a broken link"},` +
		`"link":{"type":"boolean"},"size":{"type":"integer","minimum":0,"description":"bytes of a file"},"error":{"type":"string"}},` +
		`"required":["name","type"],"additionalProperties":false}},` +
		`"ignored":{"type":"integer","minimum":1,"description":"number of ignored names"},` +
		`"ignored_by":{"type":"array","items":{"type":"string"},"description":"the first few of these rules"},` +
		`"left_out":{"type":"integer","minimum":1,"description":"number of entries not listed"},"notice":{"type":"string"}},` +
		`"required":["dir_path","entries"],"additionalProperties":false}`

	changeOutput = `{"type":"object","oneOf":[{"type":"object","properties":{` +
		`"success":{"const":true},"message":{"type":"string"},"latest_file_state":` + changedStateSchema + `,` +
		`"corrections":{"type":"array","minItems":1,"description":"repairs of the diff","items":{"type":"object","properties":{` +
		`"hunk":{"type":"integer","minimum":0,"description":"1-based; 0: the whole diff"},"kind":{"type":"string"},` +
		`"lines":` + linesSchema + `},"required":["hunk","kind","lines"],"additionalProperties":false}},` +
		`"kept_files":{"type":"array","minItems":1,"items":{"type":"string"},"description":"copies of concurrent changes by other programs"}},` +
		`"required":["success","message","latest_file_state"],"additionalProperties":false},` + tools.PreviewSchema + `]}`

	patchOutput = `{"type":"object","oneOf":[` + changeOutput + `,{"type":"object","properties":{` +
		`"success":{"const":true},"message":{"type":"string"},` +
		`"latest_file_states":{"type":"array","description":"of several files, in the order of the patch","items":` + changedStateSchema + `},` +
		`"corrections":{"type":"array","minItems":1,"description":"repairs of the patch","items":{"type":"object","properties":{` +
		`"file_path":{"type":"string","description":"absent for the patch as a whole"},"hunk":{"type":"integer","minimum":0,"description":"1-based; 0: all hunks"},` +
		`"kind":{"type":"string"},"lines":` + linesSchema + `},"required":["hunk","kind","lines"],"additionalProperties":false}},` +
		`"kept_files":{"type":"array","minItems":1,"items":{"type":"string"},"description":"copies of concurrent changes by other programs"}},` +
		`"required":["success","message","latest_file_states"],"additionalProperties":false}]}`

	textEditorOutput = `{"type":"object","oneOf":[` + changeOutput + `,` + listDirectoryOutput + `,` + withheldOutput + `,{"type":"object","properties":{` +
		`"view":{"type":"string","description":"the lines of a file, each with its number"}},"required":["view"],"additionalProperties":false}]}`

	withheldOutput = `{"type":"object","description":"of a file that is not text","properties":{` + stateProperties + `},` +
		`"required":["version","sha256","file_path","content","notice"],"additionalProperties":false}`
)

const (
	stateSchema = `{"type":"object","properties":{` + stateProperties + `},` +
		`"required":["version","sha256","file_path","content"],"additionalProperties":false}`

	changedStateSchema = `{"type":"object","properties":{` + stateProperties + `,` +
		`"changed_regions":{"type":"array","description":"instead of content: the differences to the version that notice names; all other lines are equal",` +
		`"items":{"type":"object","properties":{"lines":` + linesSchema + `,"base_lines":` + linesSchema + `,"content":{"type":"string"}},` +
		`"required":["lines","base_lines","content"],"additionalProperties":false}}},` +
		`"required":["version","sha256","file_path","content"],"additionalProperties":false}`

	stateProperties = `"version":{"type":["integer","null"],"minimum":1,"description":"increases with every state"},` +
		`"sha256":{"type":["string","null"],"pattern":"^[0-9a-f]{64}$","description":"hash of the bytes on disk; null until every line has been shown"},` +
		`"file_path":{"type":"string","description":"absolute"},` +
		`"content":{"type":["string","null"],"description":"null if it cannot be shown"},` +
		`"truncated":{"type":"boolean"},"lines_shown":` + linesSchema + `,"total_lines":{"type":"integer","minimum":0},` +
		`"next_offset":{"type":"integer","minimum":1,"description":"0-based line to continue reading at"},"notice":{"type":"string"}`

	linesSchema = `{"type":"array","items":{"type":"integer","minimum":0},"minItems":2,"maxItems":2,"description":"first and last line, 1-based; last is first minus 1 for an empty range"}`

	errorSchema = `{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},` +
		`"remedy":{"type":"string"},"reason":{"type":"string"}},"required":["type","message"],"additionalProperties":false}`
)
