package file

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// baseHash returns the argument base_content_sha256 in lower case, "" if it is absent, and the arguments of the call. A
// shortened hash is expanded in both, so that middlewares, policy, approvers and recordings receive all of it.
func (s Services) baseHash(path workspace.Path, given string, params json.RawMessage) (proof string, _ json.RawMessage, err error) {
	proof, err = s.fullHash(path, given)
	if err == nil && len(proof) != len(given) {
		params, err = tools.Amend(params, map[string]any{"base_content_sha256": proof})
	}
	return proof, params, err
}

// fullHash returns all digits of a hash, in lower case; "" for none.
func (s Services) fullHash(path workspace.Path, given string) (string, error) {
	if given == "" || len(given) == len(filestate.EmptySHA256) {
		return strings.ToLower(given), nil
	}
	if s.Hashes == nil {
		return "", badParameter("The hash is shortened.", "Pass all 64 digits of the sha256.")
	}
	return s.Hashes.FullHash(path, given)
}
