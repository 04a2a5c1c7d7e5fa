// How search results are ordered: titles with the words first,
// then chapters, then the rest of the book, files of the repository last.
// The numbers below `score` are Sphinx's own.
var Scorer = {
  score: (result) => {
    const words = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase();
    const page = result[0], score = result[4] + (result[1].toLowerCase().includes(words) ? 8 : 0);
    if (/^\d\d-|^faq$|^glossary$/.test(page)) return score + 4;
    if (/^source\//.test(page)) return score - 20;
    return /^(project|results)\//.test(page) ? score - 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
