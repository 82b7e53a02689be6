export function ViewsPage() {
  return null;
}
