package tooltest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkDamaged builds damaged copies of the arguments, which are the same in each run. Some copies are still valid,
// which is not a failure. No copy is executed.
func (k *kit) checkDamaged(t testing.TB) {
	sources := append(append([]json.RawMessage(nil), k.Examples...), k.Failing...)
	if len(sources) == 0 {
		return
	}
	tool := k.fresh(t)
	random := rand.New(rand.NewPCG(2026, 1))
	for i := range k.Mutations {
		args := damage(random, sources[i%len(sources)])
		inv, err := k.build(t, tool, args)
		if err == nil {
			k.checkInvocation(t, tool, inv, args)
		}
	}
}

// strange are values that few tools expect.
var strange = []string{
	`null`, `true`, `0`, `-1`, `1.5`, `1e3`, `5.0`, `9007199254740993`, `1e9999999`, `-1e-9999999`, `""`, `" "`, `"5"`, `"true"`,
	`"\u0000"`, `"\ud800"`, `"../../etc/passwd"`, `"/"`, `"a\nb"`, `"[1,2]"`, `"{\"a\":1}"`, `[]`, `[[]]`, `[null]`, `{}`, `{"":0}`,
}

// damage returns a copy with changed bytes, or with the value of a member changed.
func damage(random *rand.Rand, source json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(source, &members) != nil || len(members) == 0 || random.IntN(4) == 0 {
		return damageBytes(random, source)
	}
	keys := slices.Sorted(maps.Keys(members))
	key := keys[random.IntN(len(keys))]
	switch value := json.RawMessage(strange[random.IntN(len(strange))]); random.IntN(5) {
	case 0:
		delete(members, key)
	case 1:
		members[key+"x"] = value
	case 2:
		members[key] = json.RawMessage("[" + string(members[key]) + "," + string(value) + "]")
	default:
		members[key] = value
	}
	// json.Marshal would refuse or repair invalid values, so the object is assembled here.
	text := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			text = append(text, ',')
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			return damageBytes(random, source)
		}
		text = append(append(append(text, quoted...), ':'), members[key]...)
	}
	return append(text, '}')
}

func damageBytes(random *rand.Rand, source json.RawMessage) json.RawMessage {
	text := slices.Clone(source)
	for range 1 + random.IntN(3) {
		if len(text) == 0 {
			return json.RawMessage{byte(random.IntN(256))}
		}
		at := random.IntN(len(text))
		switch random.IntN(3) {
		case 0:
			text = slices.Delete(text, at, at+1)
		case 1:
			text = slices.Insert(text, at, byte(random.IntN(256)))
		default:
			text[at] = byte(random.IntN(256))
		}
	}
	return text
}
