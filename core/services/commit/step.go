package commit

// Step names a moment of a commit, for [Options.Hook]. The order of the
// constants is the order in which a commit reaches them; each way of
// committing passes only those that concern it.
type Step string

// Steps.
const (
	StepLocked      Step = "locked"       // the directory is locked; nothing was looked at
	StepChecked     Step = "checked"      // the target holds the base (existing targets only)
	StepTempWritten Step = "temp_written" // the new bytes are flushed, and have no name that lasts
	StepTempLinked  Step = "temp_linked"  // they have a temporary name beside the target (existing targets only)
	StepRechecked   Step = "rechecked"    // the target still holds the base; where there are leases, an open for writing waits from here on (existing targets only)
	StepExchanged   Step = "exchanged"    // they are at the path, where another program's open waits until they are judged; what they displaced has a temporary name
	StepVerified    Step = "verified"     // what they displaced is the base, and nobody can write to it
	StepUndone      Step = "undone"       // it was not: the exchange was undone, our bytes have the temporary name
	StepSynced      Step = "synced"       // the directory is flushed
	StepUnlinked    Step = "unlinked"     // the displaced file has no name any more
	StepTwinDropped Step = "twin_dropped" // another program's bytes were kept already: the file that held them too has no name any more

	StepRecoverySaved  Step = "recovery_saved"   // several hard links: the recovery file is flushed
	StepInPlaceHalf    Step = "in_place_half"    // the first half of the new bytes is written
	StepInPlaceWritten Step = "in_place_written" // all are written, not yet flushed
)
