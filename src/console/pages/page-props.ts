/** What the frame hands to every page. */
export interface PageProps {
  /** What stands in the path after the page's own name. */
  readonly rest: readonly string[];
}
