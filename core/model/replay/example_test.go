package replay_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/model/script"
)

// A test records once with a real model, and plays the recording from then on.
func Example() {
	ctx := context.Background()
	question := &model.Request{Contents: []model.Content{model.UserText("What is in the list?")}}
	turns, err := script.Parse("list.json", []byte(`{"turns": [{"text": "Apples and bread."}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	asked := script.New(turns, script.Options{})

	var recording bytes.Buffer
	if _, err := replay.NewRecorder(&recording).Wrap(asked).Generate(ctx, question); err != nil {
		fmt.Println(err)
	}

	player, err := replay.Replay("list.jsonl", &recording, replay.Strict)
	if err != nil {
		fmt.Println(err)
	}
	answer, err := player.Generate(ctx, question)
	fmt.Println(answer.Content.Text(), err, player.Left())
	// Output: Apples and bread. <nil> 0
}
