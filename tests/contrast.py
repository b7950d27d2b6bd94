"""The contrast between the words of a page and what lies behind them, computed in the browser as WCAG 2.2 defines it."""

FAINT = """() => {
    const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = colour => {
        pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((x, i) => a * x + (1 - a) * below[i]);
    const light = colour => {
        const [r, g, b] = colour.map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const line = element => element ? [...line(element.parentElement), element] : [];
    const opacity = element => line(element).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
    const papers = new Map();  // by drawing, its filled shapes and where they are
    const shapes = svg => {
        if (!papers.has(svg)) papers.set(svg, [...svg.querySelectorAll('path, rect, circle')]
            .filter(one => getComputedStyle(one).fill !== 'none' && one.checkVisibility())
            .map(one => [one, one.getBoundingClientRect()]));
        return papers.get(svg);
    };
    const ground = element => {
        let colour = [255, 255, 255];
        for (const one of line(element)) colour = over(rgba(getComputedStyle(one).backgroundColor), colour);
        const svg = element.closest('svg');
        const at = element.getBoundingClientRect(), [x, y] = [at.left + at.width / 2, at.top + at.height / 2];
        for (const [one, box] of svg ? shapes(svg) : [])
            if (one.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING
                && box.left <= x && x <= box.right && box.top <= y && y <= box.bottom) {
                const [r, g, b, a] = rgba(getComputedStyle(one).fill);
                colour = over([r, g, b, a * opacity(one)], colour);
            }
        return colour;
    };
    const found = new Map(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement, style = getComputedStyle(element), seen = opacity(element);
        if (!texts.currentNode.data.trim() || !element.checkVisibility({visibilityProperty: true}) || seen < 0.1) continue;
        if (element.closest(':disabled, style, script, noscript, .unseen, .katex-mathml')) continue;
        const below = ground(element), svg = element.closest('svg');
        const [r, g, b, a] = rgba(svg ? style.fill : style.color);
        const [high, low] = [light(over([r, g, b, a * seen], below)), light(below)].sort((p, q) => q - p);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < (large ? 3 : 4.5))
            found.set(`${element.localName}.${element.getAttribute('class')} on ${below.map(Math.round)}: ${ratio.toFixed(2)}`,
                      texts.currentNode.data.trim().slice(0, 30));
    }
    return [...found];
}"""


def faint(page):
    """Return the words of a page that are too faint for level AA, each with its ratio; one of each kind."""
    return page.evaluate(FAINT)
