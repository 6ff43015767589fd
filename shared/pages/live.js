// Tells the view that stands when something changed: by server-sent events, and while they do not come by asking every
// few seconds.

const kPoll = 5000;
let listener = null;
let source = null;
let polling = null;
const sign = () => document.getElementById("live");

function changed() {
  if (listener) listener();
}

function poll(on) {
  if (on && !polling) polling = setInterval(changed, kPoll);
  if (!on && polling) {
    clearInterval(polling);
    polling = null;
  }
}

/** @param lost is called when nobody is logged in any more */
export function connect(lost) {
  disconnect();
  source = new EventSource("/api/v1/events");
  source.onopen = () => {
    poll(false);
    sign().textContent = "live";
    changed();
  };
  source.onmessage = changed;
  source.onerror = () => {
    sign().textContent = "not connected, asks again";
    poll(true);
    lost();
    // A browser gives up after an answer that is no stream: the coordinator starts, or the session has ended.
    if (source && source.readyState === EventSource.CLOSED) setTimeout(() => source && connect(lost), 2000);
  };
}

export function disconnect() {
  if (source) source.close();
  source = null;
  poll(false);
  sign().textContent = "";
}

/** The view that stands. Its calls never overlap, and changes that come meanwhile make one more. */
export function follow(refresh) {
  let busy = false;
  let again = false;
  listener = refresh && (async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await refresh();
    } while (again);
    busy = false;
  });
}
