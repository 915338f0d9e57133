package process

import "os"

// waiting reads nothing: pipes have no deadlines here, and are read to their end.
func waiting(*os.File, []byte) int { return 0 }
