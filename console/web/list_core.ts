// What pages with lists and forms use, in one file for all of them; see core.ts.

import "./models/resource.ts";
import "./parts/confirm_dialog.tsx";
import "./parts/copy_button.tsx";
import "./parts/dialog.tsx";
import "./parts/field.tsx";
import "./parts/inputs.tsx";
import "./parts/states.tsx";
import "./parts/tabs.tsx";
