// What turned one text into the next, as a delta [ms, position, deleted, inserted] in UTF-16 units.

// The largest number up to ``most`` for which this holds; it holds for all below that, too.
function largest(most, holds) {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

// The least change between two texts that ends before ``end`` of the new one.
export function change(old, now, end) {
  const most = Math.min(old.length, now.length);
  let tail = largest(Math.min(most, now.length - end), (n) => (
    old.slice(old.length - n) === now.slice(now.length - n)
  ));
  let head = largest(most - tail, (n) => old.slice(0, n) === now.slice(0, n));
  // Never cut a character of two units apart.
  if (/[\uD800-\uDBFF]/.test(now[head - 1] ?? "")) head--;
  if (/[\uDC00-\uDFFF]/.test(now[now.length - tail] ?? "")) tail--;
  return [0, head, old.length - tail - head, now.slice(head, now.length - tail)];
}
