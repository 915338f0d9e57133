package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

// redDot returns a PNG of one red pixel.
func redDot() []byte {
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 0xff, A: 0xff})
	var b bytes.Buffer
	if err := png.Encode(&b, dot); err != nil { // a Buffer takes everything
		panic(err)
	}
	return b.Bytes()
}

// silence returns a WAV of a hundredth of a second of silence: one channel of 8 bits,
// whose zero level is 128, at 8 kHz.
func silence() []byte {
	const rate = 8000
	samples := bytes.Repeat([]byte{128}, rate/100)
	le := binary.LittleEndian
	b := append([]byte("RIFF"), le.AppendUint32(nil, uint32(36+len(samples)))...)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)   // bytes of the format
	b = le.AppendUint16(b, 1)    // PCM
	b = le.AppendUint16(b, 1)    // channels
	b = le.AppendUint32(b, rate) // samples a second
	b = le.AppendUint32(b, rate) // bytes a second
	b = le.AppendUint16(b, 1)    // bytes a sample
	b = le.AppendUint16(b, 8)    // bits a sample
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(len(samples)))
	return append(b, samples...)
}
