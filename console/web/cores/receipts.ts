// What backends said of a change, in one file for all who use it; see ../core.ts.

import "../parts/people/said_note.tsx";
import "../parts/receipt_chips.tsx";
