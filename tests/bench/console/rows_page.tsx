// A page for the measurement: ten thousand rows in the console's own list, with a search above them.

import { useSignal } from "@preact/signals";
import { render } from "preact";
import { VirtualList } from "../../../console/web/components/virtual_list.tsx";

const ROWS = Array.from({ length: 10_000 }, (_, at) => ({
  id: `u${at}`,
  user: `user.number.${at}@example.org`,
  client: `vpn-${at % 7}`,
}));

function RowsPage() {
  const typed = useSignal("");
  const rows = ROWS.filter(({ user }) => user.includes(typed.value));
  return (
    <main class="page live">
      <h1>Ten thousand rows</h1>
      <input
        class="input"
        type="search"
        aria-label="Search"
        value={typed.value}
        onInput={(event) => typed.value = event.currentTarget.value}
      />
      <section class="panel list" style={{ height: "600px" }}>
        <VirtualList
          rows={rows}
          keyOf={({ id }) => id}
          label="Rows"
          renderRow={({ user, client }, { index, transform }) => (
            <div class="row" role="row" aria-rowindex={index + 1} style={{ transform }}>
              <span class="mono">{index}</span>
              <span class="mono cut">{user}</span>
              <span class="mono cut">{client}</span>
            </div>
          )}
        />
      </section>
    </main>
  );
}

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  const fresh = document.createElement("div");
  root.append(fresh);
  render(<RowsPage />, fresh);
}
