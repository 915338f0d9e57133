package interactive

// Pick is a list from which the user can choose one item. Choosing submits the input
// of the item, as if it was typed; closing the list submits nothing. A front end
// without lists prints the items and Usage.
type Pick struct {
	Title string // one line
	Usage string // how to choose without the list, such as "/model NAME selects a model."
	Empty string // shown if there are no items
	Items []PickItem
}

// PickItem is one item of a [Pick]. Its texts may be of any origin: a front end
// escapes them.
type PickItem struct {
	Name        string // one line; the filter searches in it first
	State       string // one or two words, such as "current"; may be empty
	Description string // one line; may be empty
	// Detail is text that is shown while the item is selected, of any number of lines;
	// "": the description, if it does not fit into its line.
	Detail string
	// Submit is the input that choosing the item submits; "": it cannot be chosen, and
	// the state or the detail gives the reason.
	Submit   string
	Selected bool // the item is selected when the list opens
	// Theme is a theme in which a front end with colours is displayed while the item is
	// selected; "": the current one.
	Theme string
}
