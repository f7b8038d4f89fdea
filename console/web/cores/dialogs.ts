// What is opened over a page, in one file for all who use it; see ../core.ts.

import "../parts/confirm_dialog.tsx";
import "../parts/dialog.tsx";
import "../parts/receipt_chips.tsx";
