package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// event is a streamed part of a response in the form of the API. The SDK's own type is not used,
// because it decodes numbers in arguments with 53 bits.
type event struct {
	ResponseID   wire.Text `json:"responseId"`
	ModelVersion wire.Text `json:"modelVersion"`
	Candidates   []struct {
		Index   wire.Count `json:"index"`
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		FinishReason     wire.Text `json:"finishReason"`
		CitationMetadata struct {
			CitationSources []source `json:"citationSources"`
			Citations       []source `json:"citations"`
		} `json:"citationMetadata"`
		GroundingMetadata struct {
			GroundingChunks []struct {
				Web source `json:"web"`
			} `json:"groundingChunks"`
		} `json:"groundingMetadata"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason wire.Text `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *struct {
		Prompt     wire.Count `json:"promptTokenCount"`
		Candidates wire.Count `json:"candidatesTokenCount"`
		Cached     wire.Count `json:"cachedContentTokenCount"`
		Thoughts   wire.Count `json:"thoughtsTokenCount"`
		Tool       wire.Count `json:"toolUsePromptTokenCount"`
		Total      wire.Count `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

type source struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
}

type part struct {
	Text             string `json:"text"`
	Thought          bool   `json:"thought"`
	ThoughtSignature string `json:"thoughtSignature"`
	FunctionCall     *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData"`
}

// answer converts the events of a response to chunks.
type answer struct {
	chunks   wire.Pieces
	complete bool // the API has stated a finish reason
	usage    model.Usage
}

// take adds an event.
func (a *answer) take(raw []byte) error {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	chunk := &model.Chunk{ID: string(e.ResponseID), Model: string(e.ModelVersion)}
	if e.UsageMetadata != nil {
		a.count(&e)
		u := a.usage
		chunk.Usage = &u
	}
	if e.PromptFeedback.BlockReason != "" {
		chunk.Finish = model.FinishSafety
		a.complete = true
	}
	for _, c := range e.Candidates {
		if c.Index != 0 {
			continue // only one candidate was requested
		}
		for _, p := range c.Content.Parts {
			if converted, ok, err := p.convert(); err != nil {
				return err
			} else if ok {
				chunk.Parts = append(chunk.Parts, converted)
			}
		}
		for _, s := range append(c.CitationMetadata.CitationSources, c.CitationMetadata.Citations...) {
			chunk.Citations = s.appendTo(chunk.Citations)
		}
		for _, g := range c.GroundingMetadata.GroundingChunks {
			chunk.Citations = g.Web.appendTo(chunk.Citations)
		}
		if c.FinishReason != "" {
			chunk.Finish = finishReason(string(c.FinishReason))
			a.complete = true
		}
	}
	a.chunks = append(a.chunks, chunk)
	return nil
}

// count keeps the latest value of each count.
func (a *answer) count(e *event) {
	set := func(to *int, n wire.Count) {
		if n > 0 {
			*to = int(n)
		}
	}
	u := e.UsageMetadata
	set(&a.usage.Input, u.Prompt)
	set(&a.usage.Output, u.Candidates)
	set(&a.usage.Cached, u.Cached)
	set(&a.usage.Thoughts, u.Thoughts)
	set(&a.usage.Tool, u.Tool)
	set(&a.usage.Total, u.Total)
}

func (s source) appendTo(citations []string) []string {
	switch {
	case s.URI != "" && s.Title != "":
		return append(citations, "("+s.Title+") "+s.URI)
	case s.URI != "":
		return append(citations, s.URI)
	}
	return citations
}

// convert returns p as a model.Part; false if p is empty.
func (p part) convert() (model.Part, bool, error) {
	out := model.Part{Text: p.Text, Thought: p.Thought}
	switch {
	case p.FunctionCall != nil:
		call := &model.FunctionCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: bytes.Clone(p.FunctionCall.Args)}
		if call.ID == "" {
			call.ID = model.NewCallID()
		}
		if string(call.Args) == "null" {
			call.Args = nil
		}
		out = model.Part{Call: call}
	case p.InlineData != nil:
		out = model.Part{Data: &model.Data{MIMEType: p.InlineData.MIMEType, Bytes: p.InlineData.Data}}
	}
	if p.ThoughtSignature != "" {
		signature, err := decodeBase64(p.ThoughtSignature)
		if err != nil {
			return out, false, err
		}
		out.Signature, out.Provider = signature, Provider
	}
	return out, out.Text != "" || out.Call != nil || out.Data != nil || len(out.Signature) > 0, nil
}

// decodeBase64 decodes both alphabets, with or without padding, as the API does.
func decodeBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

func finishReason(reason string) model.FinishReason {
	switch reason {
	case "STOP":
		return model.FinishStop
	case "MAX_TOKENS":
		return model.FinishMaxTokens
	case "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR":
		return model.FinishSafety
	case "RECITATION", "IMAGE_RECITATION":
		return model.FinishRecitation
	case "MALFORMED_FUNCTION_CALL":
		return model.FinishMalformedCall
	case "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return model.FinishUnexpected
	}
	return model.FinishOther
}
