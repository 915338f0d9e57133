package trust

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzEdit: a valid file can be edited. The result is valid, has the requested state for the
// directory, and the same entries for all others.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"", "{}", "{,}", `{"/a":"TRUST_FOLDER"}`, `{"/a":"TRUST_FOLDER",}`, `{"/a":"TRUST_FOLDER"/**/,/**/}//`,
		"\ufeff{\n// x\n\"/x\" /*1*/ : /*2*/ \"DO_NOT_TRUST\" /*3*/ , // 4\n\"/a\":\"TRUST_FOLDER\"//5\n}",
		`{"/x/y":"TRUST_PARENT","/x":"DO_NOT_TRUST","/x/":"TRUST_FOLDER"}`, "{\r\n\t\"/a\": \"TRUST_FOLDER\",\r\n}", `{"/a":"no"}`, `[]`,
	} {
		for state := range 3 {
			f.Add([]byte(text), uint8(state))
		}
	}
	const dir = "/x"
	values := []string{"", trustDirectory, doNotTrust}
	f.Fuzz(func(t *testing.T, text []byte, state uint8) {
		before, err := parse("file", text)
		if err != nil {
			return
		}
		value := values[int(state)%len(values)]
		edited, err := edit("file", text, dir, value)
		require.NoError(t, err)
		after, err := parse("file", edited)
		require.NoError(t, err, "%s", edited)

		others := func(d *document) (said []string) {
			for _, e := range d.entries {
				if subject(e) != dir {
					said = append(said, e.Path+e.Value)
				}
			}
			return said
		}
		require.Equal(t, others(before), others(after))
		var said []string
		for _, e := range after.entries {
			if subject(e) == dir {
				said = append(said, e.Value)
				require.Equal(t, dir, filepath.Clean(e.Path))
			}
		}
		if value == "" {
			require.Empty(t, said)
		} else {
			require.Equal(t, []string{value}, said)
		}
	})
}
