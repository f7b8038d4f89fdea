// What is typed into, in one file for all who use it; see ../core.ts.

import "../parts/field.tsx";
import "../parts/fields.tsx";
import "../parts/inputs.tsx";
import "../parts/reviewed_form.tsx";
