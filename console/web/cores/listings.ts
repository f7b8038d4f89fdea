// What pages use that are a list above all, in one file for all who use it; see ../core.ts.

import "../parts/cell_filter.tsx";
import "../parts/export_button.tsx";
import "../parts/list_page.tsx";
