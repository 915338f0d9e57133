package server

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// EX-20: a message is decoded as by the SDK, except for IDs that it would change, and requests without its decoder.
func TestDecodeMessage(t *testing.T) {
	same := func(text string) {
		t.Helper()
		if !json.Valid([]byte(text)) {
			return
		}
		want, wantErr := jsonrpc.DecodeMessage([]byte(text))
		got, err := decodeMessage([]byte(text))
		if errors.Is(err, errID) {
			require.Regexp(t, `"id":(null|1\.5|1e300|\[\]|true|9007199254740993)`, text)
			return
		}
		if wantErr != nil {
			require.EqualError(t, err, wantErr.Error(), text)
			return
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a\u0062","method":"p\u0069ng","params":{"a":[1,{"b":"\ud83d\ude00"}]}}`, `{"jsonrpc":"2.0","method":"a"}`,
	} {
		require.NotNil(t, decodeRequest([]byte(text)), text)
		same(text)
	}
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"method":null}`, `{"jsonrpc":"2.0","id":1,"method":1}`, `{"jsonrpc":"2.0","id":null,"method":"a"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"a"}`, `{"jsonrpc":"2.0","id":1e300,"method":"a"}`, `{"jsonrpc":"2.0","id":[],"method":"a"}`, `{"jsonrpc":"2.0","id":true,"method":"a"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}`, `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":1}`, `{"jsonrpc":"2.0","id":1,"method":"a","params": {"x" : 1 } }`, `{"JSONRPC":"2.0","ID":1,"METHOD":"a"}`, `{"jsonrpc":"1.0","id":1,"method":"a"}`,
		`{"id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"method":"a","error":1}`, `{"jsonrpc":"2.0","id":1,"method":"a","error":null}`, `{"jsonrpc":"2.0","id":1,"method":"a","result":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}`, `{"jsonrpc":"2.0","result":1}`, `null`, `1`, `"a"`, `{}`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":"` + strings.Repeat("[", 2000) + `"}`,
	} {
		same(text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{`"jsonrpc":"2.0"`, `"id":1`, `"id":"x"`, `"id":null`, `"method":"m"`, `"method":"\n"`, `"params":{}`, `"params":[1]`, `"result":{}`, `"error":{"code":1}`, `"error":null`, `"x":[{}]`}
	for range 20_000 {
		var chosen []string
		for range 1 + random.IntN(6) {
			chosen = append(chosen, parts[random.IntN(len(parts))])
		}
		same("{" + strings.Join(chosen, ", ") + "}")
	}
}

// EX-20: a refusal names the ID of its message if the ID is readable, with all its digits.
func TestReadableID(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":9007199254740993,"method":"a"}`: "9007199254740993", `{"id":"\u0061"}`: `"\u0061"`, `{"id": -1 }`: "-1", `{"id":2.0}`: "2",
		`{"id":99999999999999999999999}`: "", `{"id":1.5}`: "", `{"id":null}`: "", `{"id":[1]}`: "", `{"ID":1}`: "", `[1]`: "", `7`: "", `{}`: "",
	} {
		require.Equal(t, want, string(readableID([]byte(text))), text)
	}
}
