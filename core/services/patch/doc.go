// Package patch reads unified diffs as models write them, corrects them
// against the real text, and applies them strictly. A hunk without exactly one
// safe place is refused.
//
// # Placement
//
// The hunks of a diff are placed together, by these questions in this order:
//
//  1. Do all hunks fit exactly where their headers say, without changing the
//     same lines? Then that is the placement, whatever else the text holds.
//  2. Where does each hunk fit? Its old lines, context and removed, are compared
//     in tiers; the first tier with a place decides. See below. A hunk that fits
//     exactly at another place than the stated one, where it fits too but for what
//     the tiers forgive, is ambiguous.
//  3. Which of these places are in order and disjoint? A place that no complete
//     placement uses is dropped. The order is that of the diff, or that of the
//     stated numbers; context may overlap, changes may not. Hunks in any other
//     order are accepted where each has a single place.
//  4. Does a hunk still fit in several places of the first tier? Then the stated
//     number decides if it clearly points to one of them, judged with the
//     offsets at which the neighbours were found; see [KindNearestPlace].
//
// Two remaining places are two readings of the diff, and the text cannot say
// which one its author meant. One of them would change lines that nobody named,
// so the diff is refused, with the candidates. A hunk is reported as already
// applied only if its old lines fit nowhere. A hunk that fits away from its
// stated place, while its result stands nearer to it, is ambiguous.
//
// # Tiers
//
//	exact      line contents; endings, and the blank before empty context, are
//	           always forgiven
//	trailing   trailing white space is ignored
//	outer      leading and trailing white space is ignored; added lines must have
//	           the file's indentation
//	alike      quotes, dashes, spaces, arrows, bullets and other characters match
//	           their ASCII spellings, as … and ...; added lines must not spread
//	           such a spelling
//	left out   one line of the file is missing between two context or removed
//	           lines, at a place where no added line could stand on either side
//	           of it
//
// Beyond the exact tier exactly one place must remain; the number does not choose
// between places, but a place that it states exactly needs no comparison with those
// where the result stands or where a line would be left out. Context keeps the bytes of the file in every tier. Removed lines are
// matched like context. Added lines are literal but for their line endings; see
// [Correct].
//
// # Cost
//
// Indexing a tier takes time in proportion to text and diff. Finding the places
// of a hunk takes time in proportion to the places of its rarest line, at most
// to the text; both are bounded for the whole diff, after which it is refused as
// too repetitive. 200 hunks in 100,000 equal lines take less than a second, applied
// or refused.
package patch
