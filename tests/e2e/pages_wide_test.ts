// Every page of the console in a wide window, in light colors.

import { pageMatrix } from "./pages/page_matrix.ts";

pageMatrix("wide");
