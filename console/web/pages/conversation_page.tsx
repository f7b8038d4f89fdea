// One login on a page of its own: a link that can be handed on.

import { useSignal } from "@preact/signals";
import { LoginInspector } from "../parts/live/login_inspector.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

export default function ConversationPage({ models, params }: PageProps) {
  const id = params.id ?? "";
  const user = useSignal("");
  const title = user.value === "" ? t("live.login") : t("live.login_of", { user: user.value });
  return (
    <main class="page conversation">
      <PageBar title={title} back={{ href: "/live", label: t("live.back_to_live") }} />
      <div class="panel inspector whole">
        <div class="body">
          <LoginInspector models={models} id={id} view={null} onUser={(name) => user.value = name} />
        </div>
      </div>
    </main>
  );
}
