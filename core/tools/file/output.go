package file

import "github.com/fettle-dev/fettle/core/tools"

// The JSON schemas of results. What is in them is closed: a key that they do not
// name is not given.
const (
	readFileOutput = `{"type":"object","properties":{` + stateProperties + `,` +
		`"status":{"const":"file_unchanged","description":"the file is as it was shown last, and is not shown again"},` +
		`"advice":{"type":"string","description":"what to do if the content is not known any more"}},` +
		`"required":["version","sha256","file_path"],"additionalProperties":false,` +
		`"oneOf":[{"required":["content"]},{"required":["status","advice"]}]}`

	readManyFilesOutput = `{"type":"object","properties":{` +
		`"files":{"type":"array","description":"the files in the order asked for","items":{"oneOf":[` + stateSchema + `,` +
		`{"type":"object","properties":{"file_path":{"type":"string"},"error":` + errorSchema + `},` +
		`"required":["file_path","error"],"additionalProperties":false}]}}},` +
		`"required":["files"],"additionalProperties":false}`

	listDirectoryOutput = `{"type":"object","properties":{` +
		`"dir_path":{"type":"string","description":"absolute"},` +
		`"entries":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"type":{"enum":["directory","file","special","symlink"],"description":"of what the name leads to; symlink: nowhere"},` +
		`"link":{"type":"boolean"},"size":{"type":"integer","minimum":0,"description":"bytes of a file"},"error":{"type":"string"}},` +
		`"required":["name","type"],"additionalProperties":false}},` +
		`"ignored":{"type":"integer","minimum":1,"description":"names that ignore rules cover"},` +
		`"ignored_by":{"type":"array","items":{"type":"string"},"description":"the first few of these rules"},` +
		`"left_out":{"type":"integer","minimum":1,"description":"entries beyond those listed"},"notice":{"type":"string"}},` +
		`"required":["dir_path","entries"],"additionalProperties":false}`

	changeOutput = `{"type":"object","oneOf":[{"type":"object","properties":{` +
		`"success":{"const":true},"message":{"type":"string"},"latest_file_state":` + changedStateSchema + `,` +
		`"corrections":{"type":"array","minItems":1,"description":"what was mended in the diff","items":{"type":"object","properties":{` +
		`"hunk":{"type":"integer","minimum":0,"description":"counted from 1; 0: the diff as a whole"},"kind":{"type":"string"},` +
		`"lines":` + linesSchema + `},"required":["hunk","kind","lines"],"additionalProperties":false}},` +
		`"kept_files":{"type":"array","minItems":1,"items":{"type":"string"},"description":"where the bytes of somebody else who wrote at the same time are kept"}},` +
		`"required":["success","message","latest_file_state"],"additionalProperties":false},` + tools.PreviewSchema + `]}`
)

const (
	stateSchema = `{"type":"object","properties":{` + stateProperties + `},` +
		`"required":["version","sha256","file_path","content"],"additionalProperties":false}`

	changedStateSchema = `{"type":"object","properties":{` + stateProperties + `,` +
		`"changed_regions":{"type":"array","description":"in place of content: what differs from the version that notice names; all other lines are as there",` +
		`"items":{"type":"object","properties":{"lines":` + linesSchema + `,"base_lines":` + linesSchema + `,"content":{"type":"string"}},` +
		`"required":["lines","base_lines","content"],"additionalProperties":false}}},` +
		`"required":["version","sha256","file_path","content"],"additionalProperties":false}`

	stateProperties = `"version":{"type":["integer","null"],"minimum":1,"description":"rises with every state that is given"},` +
		`"sha256":{"type":["string","null"],"pattern":"^[0-9a-f]{64}$","description":"of the bytes on disk; null until every line has been shown"},` +
		`"file_path":{"type":"string","description":"absolute"},` +
		`"content":{"type":["string","null"],"description":"null where it cannot be shown"},` +
		`"truncated":{"type":"boolean"},"lines_shown":` + linesSchema + `,"total_lines":{"type":"integer","minimum":0},` +
		`"next_offset":{"type":"integer","minimum":1,"description":"where to read on, counted from 0"},"notice":{"type":"string"}`

	linesSchema = `{"type":"array","items":{"type":"integer","minimum":0},"minItems":2,"maxItems":2,"description":"first and last, counted from 1; last is one less than first where there is none"}`

	errorSchema = `{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},` +
		`"remedy":{"type":"string"},"reason":{"type":"string"}},"required":["type","message"],"additionalProperties":false}`
)
