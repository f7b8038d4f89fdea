// The page of one login, as a link to share.

import { useSignal } from "@preact/signals";
import { LoginInspector } from "./login_inspector.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import type { PageProps } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";

export default function ConversationPage({ models, params }: PageProps) {
  const id = params.id ?? "";
  const user = useSignal("");
  const title = user.value === "" ? t("live.login") : t("live.login_of", { user: user.value });
  return (
    <main class="page conversation">
      <PageBar title={title} back={{ href: "/live", label: t("common.back_to_live") }} />
      <div class="panel inspector whole">
        <div class="body">
          <LoginInspector models={models} id={id} view={null} onUser={(name) => user.value = name} />
        </div>
      </div>
    </main>
  );
}
