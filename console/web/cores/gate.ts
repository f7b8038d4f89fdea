// How one comes in and shows a factor, in one file for all who use it; see ../core.ts.

import "../pages/set_up_page.tsx";
import "../pages/sign_in_page.tsx";
import "../parts/access/sign_in_dialog.tsx";
