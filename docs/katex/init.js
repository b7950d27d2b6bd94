for (const e of document.querySelectorAll(".arithmatex")) katex.render(e.textContent.trim().slice(2, -2), e, { displayMode: e.localName === "div" })
