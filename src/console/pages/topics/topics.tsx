export function TopicsPage() {
  return null;
}
