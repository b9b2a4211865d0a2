#include "perf/plot_svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "perf/plot_scale.hpp"

namespace kvc::perf {
namespace {

constexpr double width = 860;
constexpr double left = 84;
constexpr double right = 24;
constexpr double plot_height = 320;
constexpr double note_line = 15;
constexpr std::size_t note_letters = 128;
constexpr std::size_t legend_columns = 3;
constexpr double legend_line = 20;

/// Of middling lightness, so that they stand out on white as well as on black; told apart by people who see few colours, too.
constexpr std::array colours{"#2f7fd1", "#d9722b", "#2b9a66", "#b0509f", "#a08400", "#c0392b"};
constexpr std::string_view ink = "#767676";

std::string number(double pixel) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", pixel);
  return text.data();
}

std::string text_at(double x, double y, std::string_view anchor, const std::string& text, std::string_view more = {}) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + std::string(anchor) + "\"" + std::string(more) + ">" +
         xml_text(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\" " +
         std::string(style) + "/>\n";
}

/// The note in lines, broken between words.
std::vector<std::string> broken(const std::string& note) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < note.size()) {
    std::size_t end = note.find(' ', at);
    if (end == std::string::npos) end = note.size();
    const std::string word = note.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + word.size() >= note_letters) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

struct range {
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool can_show(double value, const plot_axis& axis) {
  return std::isfinite(value) && (!axis.is_log || value > 0);
}

class writer {
 public:
  explicit writer(const plot& what)
      : what_(what),
        top_(56 + legend_line * std::ceil(static_cast<double>(what.series.size()) / legend_columns)),
        bottom_(top_ + plot_height),
        x_(make_scale(what.x, true, left, width - right)),
        y_(make_scale(what.y, false, bottom_, top_)) {}

  std::string write() {
    const std::vector<std::string> note = broken(what_.note);
    const double height = bottom_ + 58 + note_line * static_cast<double>(note.size());
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " + number(height) + "\" width=\"" +
           number(width) + "\" height=\"" + number(height) +
           "\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"" + std::string(ink) +
           "\" role=\"img\">\n<title>" + xml_text(what_.title) + "</title>\n";
    out_ += text_at(left, 24, "start", what_.title, " font-size=\"16\" font-weight=\"600\"");
    legend();
    axes();
    if (what_.categories.empty()) {
      lines();
    } else {
      bars();
    }
    for (const plot_mark& each : what_.marks) mark(each);
    double y = bottom_ + 60;
    for (const std::string& each : note) {
      out_ += text_at(left, y, "start", each, " font-size=\"11\"");
      y += note_line;
    }
    return out_ + "</svg>\n";
  }

 private:
  plot_scale make_scale(const plot_axis& axis, bool is_x, double from, double to) const {
    range all;
    if (is_x && !what_.categories.empty()) return {0, static_cast<double>(what_.categories.size()), false, from, to};
    for (const plot_series& each : what_.series) {
      for (const auto& [x, y] : each.points) {
        if (can_show(x, what_.x) && can_show(y, what_.y)) all.add(is_x ? x : y);
      }
    }
    if (all.low > all.high) all = {1, 10};
    if (!axis.is_log && axis.from_zero) all.add(0);
    return {all.low, all.high, axis.is_log, from, to};
  }

  void legend() {
    constexpr double column = (width - left - right) / legend_columns;
    for (std::size_t i = 0; i < what_.series.size(); ++i) {
      const double x = left + column * static_cast<double>(i % legend_columns);
      const double y = 46 + legend_line * static_cast<double>(i / legend_columns);
      if (what_.categories.empty()) {
        out_ += line(x, y - 4, x + 22, y - 4, stroke(i));
      } else {
        out_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y - 11) + "\" width=\"14\" height=\"12\" fill=\"" +
                colours[i % colours.size()] + "\"/>\n";
      }
      out_ += text_at(x + 28, y, "start", what_.series[i].name);
    }
  }

  void axes() {
    for (const double each : y_.ticks()) {
      out_ += line(left, y_.at(each), width - right, y_.at(each), "stroke=\"#767676\" stroke-opacity=\"0.25\"");
      out_ += text_at(left - 8, y_.at(each) + 4, "end", plot_number(each));
    }
    if (what_.categories.empty()) {
      for (const double each : x_.ticks()) {
        out_ += line(x_.at(each), top_, x_.at(each), bottom_, "stroke=\"#767676\" stroke-opacity=\"0.25\"");
        out_ += text_at(x_.at(each), bottom_ + 18, "middle", plot_number(each));
      }
    } else {
      for (std::size_t i = 0; i < what_.categories.size(); ++i) {
        out_ += text_at(x_.at(static_cast<double>(i) + 0.5), bottom_ + 18, "middle", what_.categories[i]);
      }
    }
    out_ += line(left, bottom_, width - right, bottom_, "stroke=\"#767676\"") + line(left, top_, left, bottom_, "stroke=\"#767676\"");
    out_ += text_at((left + width - right) / 2, bottom_ + 40, "middle", what_.x.label);
    const double middle = (top_ + bottom_) / 2;
    out_ += text_at(20, middle, "middle", what_.y.label, " transform=\"rotate(-90 20 " + number(middle) + ")\"");
  }

  [[nodiscard]] std::string stroke(std::size_t series) const {
    return std::string("fill=\"none\" stroke=\"") + colours[series % colours.size()] + "\" stroke-width=\"2\"" +
           (what_.series[series].is_dashed ? " stroke-dasharray=\"6 5\"" : "");
  }

  void lines() {
    for (std::size_t i = 0; i < what_.series.size(); ++i) {
      const plot_series& each = what_.series[i];
      std::string path;
      std::string dots;
      for (const auto& [x, y] : each.points) {
        if (!can_show(x, what_.x) || !can_show(y, what_.y)) continue;
        path += number(x_.at(x)) + "," + number(y_.at(y)) + " ";
        if (!each.is_dashed) {
          dots += "<circle cx=\"" + number(x_.at(x)) + "\" cy=\"" + number(y_.at(y)) + "\" r=\"3.5\" fill=\"" +
                  colours[i % colours.size()] + "\"/>\n";
        }
      }
      out_ += "<polyline points=\"" + path + "\" " + stroke(i) + "/>\n" + dots;
    }
  }

  void bars() {
    const double room = x_.at(1) - x_.at(0);
    const double each_width = std::min(90.0, room * 0.7 / static_cast<double>(std::max<std::size_t>(1, what_.series.size())));
    for (std::size_t i = 0; i < what_.series.size(); ++i) {
      for (const auto& [place, value] : what_.series[i].points) {
        if (!can_show(value, what_.y)) continue;
        const double offset = (static_cast<double>(i) - static_cast<double>(what_.series.size()) / 2) * each_width;
        const double x = x_.at(place + 0.5) + offset;
        const double y = y_.at(value);
        out_ += "<rect x=\"" + number(x + 2) + "\" y=\"" + number(y) + "\" width=\"" + number(each_width - 4) + "\" height=\"" +
                number(bottom_ - y) + "\" fill=\"" + colours[i % colours.size()] + "\"/>\n";
        out_ += text_at(x + each_width / 2, y - 5, "middle", plot_number(value), " font-size=\"12\"");
      }
    }
  }

  void mark(const plot_mark& spot) {
    if (!can_show(spot.x, what_.x) || !can_show(spot.y, what_.y)) return;
    const double x = x_.at(spot.x);
    const double y = y_.at(spot.y);
    out_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"8\" fill=\"none\" stroke=\"#c0392b\" stroke-width=\"2\"/>\n";
    // Beside the spot where a rising line leaves room: above to the left, or below to the right.
    const bool is_right = x > (left + width - right) / 2;
    out_ += text_at(is_right ? x - 14 : x + 14, is_right ? std::max(y - 14, top_ + 14) : std::min(y + 22, bottom_ - 8),
                    is_right ? "end" : "start", spot.text, " font-weight=\"600\"");
  }

  const plot& what_;
  double top_;
  double bottom_;
  plot_scale x_;
  plot_scale y_;
  std::string out_;
};

}  // namespace

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char each : text) {
    switch (each) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += each;
    }
  }
  return out;
}

std::string plot_number(double value) {
  struct unit {
    double size;
    const char* name;
  };
  constexpr std::array units{unit{1e9, " G"}, unit{1e6, " M"}, unit{1e3, " k"}, unit{1, ""}};
  const double size = std::abs(value);
  if (size == 0) return "0";
  std::array<char, 32> text{};
  for (const unit& each : units) {
    if (size < each.size * 0.9995) continue;
    std::snprintf(text.data(), text.size(), "%.3g%s", value / each.size, each.name);
    return text.data();
  }
  std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

std::string write_svg(const plot& what) {
  return writer(what).write();
}

}  // namespace kvc::perf
