/** Views: all of them, the documents of one, or one document. */

import { query } from "../../ui/router.js";
import type { PageProps } from "../page-props.js";
import { DocumentPage } from "./document-page.js";
import { ViewDocuments } from "./view-documents.js";
import { ViewList } from "./view-list.js";

export function ViewsPage({ rest }: PageProps) {
  const [view, key = query("key")] = rest;
  if (view === undefined) return <ViewList />;
  if (key === null) return <ViewDocuments key={view} view={view} />;
  return <DocumentPage key={`${view} ${key}`} view={view} documentKey={key} />;
}
