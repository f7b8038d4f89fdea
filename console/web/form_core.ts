// What forms and dialogs use, in one file for all of them; see core.ts.

import "./parts/confirm_dialog.tsx";
import "./parts/dialog.tsx";
import "./parts/field.tsx";
import "./parts/inputs.tsx";
