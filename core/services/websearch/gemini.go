package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// GeminiOptions configure a [Gemini].
type GeminiOptions struct {
	Key     string // API key; required; sent as a header and never displayed
	Model   string // model that searches; "": gemini-2.5-flash
	BaseURL string // "": https://generativelanguage.googleapis.com
	Transport
}

// Gemini searches with Google Search through a Gemini model, which responds in prose with
// citations. It is safe for concurrent use.
type Gemini struct {
	*client
	address string
	header  http.Header
}

// NewGemini returns a Gemini. It does no I/O. The error has code invalid_config.
func NewGemini(o GeminiOptions) (*Gemini, error) {
	if strings.TrimSpace(o.Key) == "" {
		return nil, badOption("The web search through Gemini needs a key.", "Set GEMINI_API_KEY.")
	}
	if strings.ContainsAny(o.Key, "\r\n\x00") {
		return nil, badOption("The key for the web search through Gemini contains a line break.", "Set it without the line break.")
	}
	o.Model = cmp.Or(o.Model, "gemini-2.5-flash")
	o.BaseURL = cmp.Or(o.BaseURL, "https://generativelanguage.googleapis.com")
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, badOption("The base URL of the web search through Gemini is not an http or https URL.", "Give a URL such as https://generativelanguage.googleapis.com.")
	}
	model := strings.TrimPrefix(o.Model, "models/")
	return &Gemini{
		client:  newClient(o.Transport, o.Key),
		address: base.JoinPath("v1beta", "models", url.PathEscape(model)+":generateContent").String(),
		header:  http.Header{"Content-Type": {"application/json"}, "X-Goog-Api-Key": {o.Key}},
	}, nil
}

func badOption(message, remedy string) *fault.Error {
	return fault.New(fault.InvalidConfig, "websearch.new", message, remedy)
}

// geminiAnswer is the used part of the API's response.
type geminiAnswer struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason      string `json:"finishReason"`
		GroundingMetadata struct {
			GroundingChunks []struct {
				Web struct {
					URI   string `json:"uri"`
					Title string `json:"title"`
				} `json:"web"`
			} `json:"groundingChunks"`
			GroundingSupports []struct {
				Segment struct {
					PartIndex int `json:"partIndex"`
					EndIndex  int `json:"endIndex"` // in bytes of the part
				} `json:"segment"`
				GroundingChunkIndices []int `json:"groundingChunkIndices"`
			} `json:"groundingSupports"`
		} `json:"groundingMetadata"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
}

// Search answers a query from the web. The error has code web_search_failed or cancelled.
func (g *Gemini) Search(ctx context.Context, query string) (Answer, error) {
	type part struct {
		Text string `json:"text"`
	}
	type content struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	request, err := json.Marshal(map[string]any{
		"contents": []content{{"user", []part{{query}}}},
		"tools":    []any{map[string]any{"google_search": struct{}{}}},
	})
	if err != nil {
		return Answer{}, g.failed("The query cannot be encoded: "+err.Error()+".", "Rephrase it.")
	}
	data, err := g.do(ctx, http.MethodPost, g.address, g.header, request, geminiError)
	if err != nil {
		return Answer{}, err
	}
	var read geminiAnswer
	if err := json.Unmarshal(data, &read); err != nil {
		return Answer{}, g.failed("The response of the search service cannot be decoded: "+g.quote(err.Error())+".", settings)
	}
	if len(read.Candidates) == 0 {
		why := "without a reason"
		if r := g.quote(read.PromptFeedback.BlockReason); r != "" {
			why = "with reason " + r
		}
		return Answer{}, g.failed("The search service refused the query, "+why+".", "Rephrase the query.")
	}
	return read.answer(), nil
}

// answer joins the parts of the text and adjusts the positions of the citations. It drops citations
// outside of the text.
func (r *geminiAnswer) answer() Answer {
	c := r.Candidates[0]
	var a Answer
	starts := make([]int, len(c.Content.Parts))
	for i, part := range c.Content.Parts {
		if starts[i] = len(a.Text); part.Thought {
			starts[i] = -1
			continue
		}
		a.Text += part.Text
	}
	for _, chunk := range c.GroundingMetadata.GroundingChunks {
		a.Sources = append(a.Sources, Source{Title: chunk.Web.Title, URL: chunk.Web.URI})
	}
	for _, s := range c.GroundingMetadata.GroundingSupports {
		i, end := s.Segment.PartIndex, s.Segment.EndIndex
		if i < 0 || i >= len(starts) || starts[i] < 0 || end < 0 || end > len(c.Content.Parts[i].Text) {
			continue
		}
		a.Citations = append(a.Citations, Citation{End: starts[i] + end, Sources: s.GroundingChunkIndices})
	}
	return a
}

// geminiError extracts the message from the body of an error.
func geminiError(body []byte) string {
	var read struct {
		Error struct {
			Message string `json:"message"`
			Status  string `json:"status"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &read) != nil {
		return ""
	}
	return strings.TrimSpace(read.Error.Status + " " + read.Error.Message)
}
