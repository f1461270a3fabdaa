"""Training algorithms of the lecture, each as a plain loop over the examples.

Step through them with ``NUMBA_DISABLE_JIT=1``; otherwise `engine` compiles them. D is the data
set, order holds the rows in the order of their visits, w is the augmented weight vector (w0
first), and zero is sign(0). How a row is scored and added to w is in `rowformats`.
"""

from rosenblatt.rowformats import NONE, SMALLEST, add, ahead, largest, mistake, size, step


def pla(D, order, zero, w, trace, ends):
    """Update w on each mistake, epoch after epoch, until an epoch has no mistake."""
    t = 0
    for c in range(len(ends)):
        begun = t
        k, n = next_mistake(D, order, zero, w, 0)
        while k < len(order):
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            k, n = next_mistake(D, order, zero, w, k + 1)
        ends[c] = t
        if t == begun:
            break
    return c + 1


def pocket(D, trace, w, fewest, tolerance):
    """Repeat the updates of `trace` until w makes fewer than `fewest` mistakes.

    Return how many updates that took, or 0 if w never makes so few mistakes.
    """
    for t in range(len(trace)):
        n = trace[t]
        add(D, n, w, step(D, n))
        if mistakes(D, w, tolerance) < fewest:
            return t + 1
    return 0


def next_mistake(D, order, zero, w, k):
    """Find the first row in `order`, from position k on, that w misclassifies.

    Return the position and the code of the update (see `rowformats.mistake`).
    """
    for i in range(k, len(order)):
        n = mistake(D, order[i], w, zero)
        if n >= 0:
            return i, n
    return len(order), NONE


def mistakes(D, w, tolerance):
    """Count the rows that w misclassifies by more than rounding errors can explain."""
    bound = tolerance * largest(w) + SMALLEST
    count = 0
    for n in range(size(D)):
        count += ahead(D, n, w) < -bound
    return count


def pla_random(D, order, chance, zero, w, walk, trace, when, ends):
    """Update w on mistakes chosen uniformly at random until there is none."""
    i, visits = walk
    N = len(order)
    k = t = c = 0
    while i < N and k < len(chance) and t < len(trace):
        j = i + int(chance[k] * (N - i))
        order[i], order[j] = order[j], order[i]
        n = mistake(D, order[i], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            when[t] = k
            t += 1
            i = 0
        else:
            i += 1
        k += 1
        visits += 1
        if visits == N:
            ends[c] = t
            c += 1
            visits = 0
    return i, visits, t, c


def pla_first(D, order, zero, w, walk, trace):
    """Update w on its first mistake and start over at the first row, until none is left."""
    k, visits = walk
    t = 0
    while k < len(order) and visits > 0 and t < len(trace):
        n = mistake(D, order[k], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            k = 0
        else:
            k += 1
        visits -= 1
    return k, t


def ratchet(D, order, zero, w, run, evaluated, longest, trace):
    """Update w on each mistake until it classifies more than `longest` consecutive rows correctly.

    If w is `evaluated` already, the loop goes on to the next update.
    """
    k = t = 0
    while k < len(order) and t < len(trace) and (evaluated or run <= longest):
        n = mistake(D, order[k], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            run, evaluated = 0, False
        else:
            run += 1
        k += 1
    return k, run, evaluated, t
