// Package patch parses unified diffs as models write them, corrects them against the current text,
// and applies them strictly. A hunk without exactly one safe place is refused.
//
// [Parse] reads a diff, [Correct] finds the places of its hunks and returns a [Change],
// [ApplyStrict] applies that change, and [Change.Unified] renders it. [Between] computes the change
// between two texts.
//
// # Placement
//
// The hunks of a diff are placed together, in these steps:
//
//  1. If all hunks fit exactly at the lines that their headers state, without
//     changing the same lines, that is the placement, whatever else the text
//     contains.
//  2. Otherwise the old lines of each hunk, context and removed, are searched for
//     in tiers; the first tier with a place decides. See below. A hunk that fits
//     exactly at one place, and at its stated line except for a difference that
//     the tiers tolerate, is ambiguous.
//  3. A place that no complete placement uses is dropped. A placement is in order
//     and disjoint. The order is that of the diff, or that of the stated numbers;
//     context may overlap, changes may not. Hunks in any other order are accepted
//     if each has a single place.
//  4. If a hunk still fits in several places of the first tier, the stated number
//     decides if it clearly points to one of them, taking into account the offsets
//     of the neighbouring hunks; see the repair nearest_place.
//
// Two remaining places are two possible readings of the diff, and the text does not show which one
// its author meant. One of them would change unrelated lines, so the diff is refused, with the
// candidates. A hunk is reported as already applied only if its old lines fit nowhere. A hunk that
// fits away from its stated place, while its result is nearer to it, is ambiguous.
//
// # Tiers
//
//	exact      line contents; endings, and the blank before empty context, are
//	           always ignored
//	trailing   trailing white space is ignored
//	outer      leading and trailing white space is ignored; added lines must have
//	           the file's indentation
//	alike      quotes, dashes, spaces, arrows, bullets and other characters match
//	           their ASCII spellings, such as … and ...; added lines must not
//	           spread such a spelling
//	left out   one line of the file is missing between two context or removed
//	           lines, at a place where no added line could be on either side
//	           of it
//
// Beyond the exact tier exactly one place must remain; the number does not choose between places. A
// place at the exact stated line is not compared with places of the result or with places of the
// last tier. Context keeps the bytes of the file in every tier. Removed lines are matched like
// context. Added lines are literal except for their line endings; see [Correct].
//
// # Cost
//
// Indexing a tier takes time in proportion to text and diff. Finding the places of a hunk takes
// time in proportion to the places of its rarest line, at most to the text. Both are limited for
// the whole diff, which is refused as too repetitive beyond that. 200 hunks in 100,000 equal lines
// take less than a second, applied or refused.
package patch
